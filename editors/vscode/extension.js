// Starts `ember-rewrite lsp` and hands what the editor says to it. All else is the server's.

const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function activate() {
  const settings = workspace.getConfiguration("emberRewrite");
  const server = { command: settings.get("command", "ember-rewrite"), args: ["lsp"] };
  client = new LanguageClient("emberRewrite", "ember-rewrite", server, {
    documentSelector: [{ scheme: "file", language: "ember" }],
    initializationOptions: { rules: settings.get("rules", []) },
    synchronize: {
      configurationSection: "emberRewrite",
      fileEvents: workspace.createFileSystemWatcher("**/*.rules"),
    },
  });
  return client.start();
}

function deactivate() {
  return client?.stop();
}

module.exports = { activate, deactivate };
