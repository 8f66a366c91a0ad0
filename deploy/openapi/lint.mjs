// Lints an OpenAPI document with common rule sets: Redocly's "recommended" and Spectral's "oas".
// Every problem, warnings included, fails.
//
//   node lint.mjs openapi.json
import { readFile } from 'node:fs/promises';
import { relative } from 'node:path';
import redocly from '@redocly/openapi-core';
import spectralCore from '@stoplight/spectral-core';
import parsers from '@stoplight/spectral-parsers';
import rulesets from '@stoplight/spectral-rulesets';

const file = process.argv[2];
if (!file) {
  console.error('usage: node lint.mjs openapi.json');
  process.exit(2);
}
// A broken document that both linters must reject. It shows that they work.
const broken =
  '{"openapi":"3.1.0","info":{"title":"x","version":"1"},"paths":{"/x":{"get":{"responses":{"200":{}}}}}}';

async function byRedocly(text, name) {
  const config = await redocly.createConfig({ extends: ['recommended'] });
  const problems = await redocly.lintFromString({ source: text, absoluteRef: name, config });
  return problems.map((p) => {
    const place = p.location[0];
    return `${place?.pointer ?? ''} ${p.ruleId}: ${p.message}`;
  });
}

async function bySpectral(text, name) {
  const spectral = new spectralCore.Spectral();
  spectral.setRuleset({ extends: [rulesets.oas] });
  const found = await spectral.run(new spectralCore.Document(text, parsers.Json, name));
  return found.map((p) => `#/${p.path.join('/')} ${p.code}: ${p.message}`);
}

// Justified violations of rules, recognised by the operation's definition.
const exceptions = {
  // A redirect answers 3xx.
  'operation-2xx-response': (operation) =>
    Object.keys(operation.responses).some((status) => status.startsWith('3')),
  // An operation without input or limits has no client errors.
  'operation-4xx-response': (operation) =>
    !operation.parameters && !operation.requestBody && operation.security?.length === 0,
};

function excused(problem, doc) {
  const [pointer, rule] = problem.split(/[ :]+/, 2);
  const [, , path, method] = pointer.split('/');
  const operation = doc.paths?.[path?.replaceAll('~1', '/').replaceAll('~0', '~')]?.[method];
  return operation !== undefined && exceptions[rule]?.(operation) === true;
}

const text = await readFile(file, 'utf8');
let failed = 0;
for (const [name, lint] of [
  ['redocly recommended', byRedocly],
  ['spectral oas', bySpectral],
]) {
  if ((await lint(broken, 'broken.json')).length === 0) {
    console.error(`${name}: finds no problem in a broken document`);
    process.exit(2);
  }
  const problems = (await lint(text, file)).filter(
    (problem) => !excused(problem, JSON.parse(text)),
  );
  console.log(`${name}: ${problems.length} problems in ${relative(process.cwd(), file) || file}`);
  for (const problem of problems) console.log(`  ${problem}`);
  failed += problems.length;
}
process.exit(failed ? 1 : 0);
