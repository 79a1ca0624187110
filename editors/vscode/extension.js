// Starts `attndsl lsp`, which does all the rest.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function activate() {
  const [command, ...args] = workspace.getConfiguration("attndsl").get("server");
  client = new LanguageClient("attndsl", "attndsl", { command, args }, { documentSelector: [{ language: "attn" }] });
  return client.start();
}

function deactivate() {
  return client?.stop();
}

module.exports = { activate, deactivate };
