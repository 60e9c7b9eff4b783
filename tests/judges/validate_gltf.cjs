// Prints one JSON line per file: what Khronos' gltf-validator holds against it.
//   node validate_gltf.cjs FILE...
const fs = require("fs");
const validator = require("gltf-validator");

async function main() {
  for (const file of process.argv.slice(2)) {
    const report = await validator.validateBytes(new Uint8Array(fs.readFileSync(file)), {
      uri: file,
      maxIssues: 1000,
      externalResourceFunction: () => Promise.reject(new Error("nothing outside is read")),
    });
    const errors = report.issues.messages.filter((issue) => issue.severity === 0);
    console.log(JSON.stringify({
      file,
      errors: errors.map((issue) => ({ code: issue.code, pointer: issue.pointer, message: issue.message })),
      warnings: report.issues.messages.filter((issue) => issue.severity === 1).map((issue) => issue.code),
      error_count: report.issues.numErrors,
      animations: report.info.animationCount,
    }));
  }
}

main();
