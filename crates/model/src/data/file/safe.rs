//! `.safetensors` files: named tensors with a JSON header.

use super::{FileError, bytes, no_tensor};
use ember_targets::tensor::{Data, Tensor};
use ember_values::scalar::DType;
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use std::collections::BTreeMap;

/// Reads a tensor by its name.
pub(super) fn read(content: &[u8], name: &str) -> Result<Tensor, FileError> {
    let file = SafeTensors::deserialize(content)?;
    let view = file.tensor(name).map_err(|_| no_tensor(name, file.names().into_iter()))?;
    tensor(&view)
}

/// Reads every tensor, by name.
pub(super) fn read_all(content: &[u8]) -> Result<BTreeMap<String, Tensor>, FileError> {
    let file = SafeTensors::deserialize(content)?;
    file.iter().map(|(name, view)| Ok((name.to_owned(), tensor(&view)?))).collect()
}

fn tensor(view: &TensorView<'_>) -> Result<Tensor, FileError> {
    let dtype = match view.dtype() {
        Dtype::F16 => DType::F16,
        Dtype::BF16 => DType::BF16,
        // True and false are bytes, 1 and 0.
        Dtype::U8 | Dtype::BOOL => DType::U8,
        Dtype::I8 => DType::I8,
        Dtype::F32 => DType::F32,
        Dtype::F64 => DType::F64,
        Dtype::I32 => DType::I32,
        Dtype::I64 => DType::I64,
        other => return Err(FileError::Elements(other)),
    };
    let shape = view.shape().iter().map(|n| *n as u64).collect();
    Ok(Tensor { dtype, shape, data: Data::of_bytes(dtype, view.data(), true) })
}

/// Returns the content of a file with these tensors.
pub(super) fn write_all(tensors: &BTreeMap<String, Tensor>) -> Result<Vec<u8>, FileError> {
    let dtype = |dtype| match dtype {
        DType::F16 => Dtype::F16,
        DType::BF16 => Dtype::BF16,
        DType::F32 => Dtype::F32,
        DType::F64 => Dtype::F64,
        DType::I32 => Dtype::I32,
        DType::I64 => Dtype::I64,
        DType::U8 | DType::U4 => Dtype::U8,
        DType::I8 => Dtype::I8,
    };
    let held: Vec<_> = tensors.iter().map(|(name, tensor)| (name, tensor, bytes(tensor))).collect();
    let views = held
        .iter()
        .map(|(name, tensor, bytes)| {
            let shape = tensor.shape.iter().map(|n| *n as usize).collect();
            Ok((name.as_str(), TensorView::new(dtype(tensor.dtype), shape, bytes)?))
        })
        .collect::<Result<Vec<_>, FileError>>()?;
    Ok(safetensors::serialize(views, None)?)
}
