"""Writes damaged and unsupported variants of an exported program into the folder `bad/`, and graphs alone into `programs/`.

usage: bad.py, in the folder of the exports"""
import io, json, os, zipfile

os.makedirs("bad", exist_ok=True); os.makedirs("programs", exist_ok=True)

def parts(name):
    with zipfile.ZipFile(name + ".pt2") as z: return {i: z.read(i) for i in z.namelist()}

def write(path, files, method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", method) as z:
        for name, content in files.items():
            z.writestr(zipfile.ZipInfo(name), content, compress_type=method)

def changed(name, change, source="transe"):
    files = parts(source); key = f"{source}/models/model.json"; program = json.loads(files[key])
    change(program, files); files[key] = json.dumps(program).encode()
    write(f"bad/{name}.pt2", files)

def set_target(target):
    def change(p, _): p["graph_module"]["graph"]["nodes"][2]["target"] = target
    return change
def version(p, _): p["schema_version"]["major"] = 9
def cyclic(p, _):
    nodes = p["graph_module"]["graph"]["nodes"]; nodes[2]["inputs"][0]["arg"]["as_tensor"]["name"] = nodes[-1]["outputs"][0]["as_tensor"]["name"]
def huge(p, _):
    for meta in p["graph_module"]["graph"]["tensor_values"].values(): meta["sizes"] = [{"as_int": 1 << 40}, {"as_int": 1 << 40}]
def mutation(p, _): p["graph_module"]["signature"]["output_specs"][0] = {"buffer_mutation": {"arg": {"name": "x"}, "buffer_name": "b"}}
def short(p, files): files["transe/data/weights/weight_0"] = files["transe/data/weights/weight_0"][:100]
def not_json(p, files): files["transe/models/model.json"] = b"{"
def unnamed(p, _): p["graph_module"]["graph"]["nodes"][0]["inputs"][0]["arg"] = {"as_tensor": 3}
def computed(p, _):
    nodes = p["graph_module"]["graph"]["nodes"]
    nodes[0]["inputs"][1]["arg"]["as_tensor"]["name"] = "p_e_weight"

for name, change in {"operator": set_target("torch.ops.aten.fft_fft.default"), "near": set_target("torch.ops.aten.subb.Tensor"), "version": version,
                     "cyclic": cyclic, "huge": huge, "mutation": mutation, "short_weight": short, "json_names": unnamed, "positions": computed}.items():
    changed(name, change)
whole = open("transe.pt2", "rb").read()
open("bad/cut.pt2", "wb").write(whole[:len(whole) // 2]); open("bad/empty.pt2", "wb").write(b""); open("bad/text.pt2", "wb").write(b"(model m)\n")
files = parts("transe"); write("bad/json.pt2", {**files, "transe/models/model.json": b'{"graph_module": '})
write("bad/deep.pt2", {"deep/models/model.json": b"[" * 100_000}, zipfile.ZIP_DEFLATED)
write("bad/bomb.pt2", {"bomb/models/model.json": b" " * (40 << 20)}, zipfile.ZIP_DEFLATED)
write("bad/no_program.pt2", {"no_program/archive_version": b"0"}); write("bad/old.pt2", {"old/serialized_exported_program.json": b"{}"})
write("bad/archive_version.pt2", {"a/archive_version": b"7", "a/models/model.json": b"{}"})

for name in ["places", "reduce", "scatter"]:
    files = parts(name); key = next(k for k in files if k.endswith("/models/model.json"))
    program = json.loads(files[key])
    for node in program["graph_module"]["graph"]["nodes"]: node["metadata"] = {}
    program["graph_module"]["module_call_graph"] = []
    open(f"programs/{name}.json", "w").write(json.dumps(program))
