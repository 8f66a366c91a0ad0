// Builds the package into dist: what tsc needs beside the sources (the types of openapi.json, and
// the
// card for MCP hosts as a text), the modules with their types, and adnet.js as a module.
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const run = (tool, ...args) =>
  execFileSync(at(`node_modules/.bin/${tool}`), args, {
    cwd: at('.'),
    stdio: ['ignore', 'inherit', 'inherit'],
  });

// The oldest platforms that the package and adnet.js run on.
const platforms = JSON.parse(readFileSync(at('platforms.json'), 'utf8'));

rmSync(at('dist'), { recursive: true, force: true });
run(
  'openapi-typescript',
  at('../../schemas/openapi/openapi.json'),
  '-o',
  at('src/api.gen.ts'),
  '--default-non-nullable=false',
);
const made = (name, text) =>
  writeFileSync(at(`src/${name}.gen.ts`), `// Made by build.mjs.\n${text}`);
// The card is the server's own, which may load pictures of one place; here of none.
const card = readFileSync(at('../../ingress/mcp/card.html'), 'utf8').replace('ADNET_MEDIA', '');
made('card', `export const card: string = ${JSON.stringify(card)};\n`);
made('viewable', readFileSync(at('../shared/viewable.ts'), 'utf8'));
run('tsc', '-p', '.');
await build({
  entryPoints: [at('adnet.ts')],
  bundle: true,
  format: 'esm',
  minify: true,
  target: Object.entries(platforms).map(([name, version]) => name + version),
  tsconfigRaw: '{}',
  outfile: at('dist/element.js'),
});
writeFileSync(
  at('dist/element.d.ts'),
  '/** Defines <adnet-ad>. Say the installation in its attribute `server`. */\nexport {};\n',
);
