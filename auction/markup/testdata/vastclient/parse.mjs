// Reads VAST documents, one JSON string a line, and writes for each what the client understood.
import { createInterface } from "node:readline";
import { VASTParser } from "@dailymotion/vast-client";
import { DOMParser } from "@xmldom/xmldom";

const plain = (o) => JSON.parse(JSON.stringify(o, (k, v) => (v === undefined ? null : v)));

for await (const line of createInterface({ input: process.stdin })) {
  const faults = [];
  const document = new DOMParser({ onError: (l, m) => faults.push(m), errorHandler: (l, m) => faults.push(m) })
    .parseFromString(JSON.parse(line), "text/xml");
  const parser = new VASTParser();
  parser.on("VAST-error", (e) => faults.push(e));
  parser.on("VAST-warning", (e) => faults.push(e));
  try {
    const out = await parser.parseVAST(document, { emitDispatchers: false });
    console.log(JSON.stringify({ faults, version: out.version, ads: plain(out.ads) }));
  } catch (e) {
    console.log(JSON.stringify({ faults: [...faults, String(e)] }));
  }
}
