// The npm package as it is published: its contents, its types as others resolve them, its size,
// that
// packing is reproducible, and that other runtimes import it and get an ad.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { test } from 'node:test';
import { build } from 'esbuild';
import { Miniflare } from 'miniflare';

const world = JSON.parse(process.env.ADNET_WORLD);
const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const tarball = process.env.ADNET_TARBALL;
const run = (command, args, options = {}) =>
  execFileSync(command, args, {
    cwd: at('.'),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    ...options,
  });
const tool = (name, ...args) => run(at(`node_modules/.bin/${name}`), args);

test('npm pack is reproducible', () => {
  const folder = mkdtempSync(join(tmpdir(), 'adnet-pack-'));
  try {
    run('npm', ['run', '--silent', 'build'], { cwd: at('../../web/sdk') });
    run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: at('../../web/sdk') });
    const [again] = readdirSync(folder);
    const hash = (file) => createHash('sha256').update(readFileSync(file)).digest('hex');
    assert.equal(hash(join(folder, again)), hash(tarball));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('the package has what it needs and nothing else', () => {
  const files = run('tar', ['tzf', tarball]).trim().split('\n');
  for (const file of files)
    assert.match(file, /^package\/(dist\/[a-z.-]+\.(js|d\.ts)|package\.json|README\.md|LICENSE)$/);
  const { dependencies, scripts } = JSON.parse(
    readFileSync(at('node_modules/@adnet/sdk/package.json'), 'utf8'),
  );
  assert.equal(dependencies, undefined, 'no runtime dependency');
  for (const name of ['preinstall', 'install', 'postinstall'])
    assert.equal(scripts?.[name], undefined);
});

test('types and exports are as others resolve them', () => {
  tool('attw', tarball, '--profile', 'esm-only', '--format', 'ascii', '--no-color');
  const said = tool('publint', 'run', tarball, '--strict');
  assert.match(said, /All good/);
});

// Bytes of gzip of each import with all that it brings, React aside.
const limits = JSON.parse(readFileSync(at('../../web/sdk/sizes.json'), 'utf8'));

test('imports stay small', async () => {
  const { exports } = JSON.parse(readFileSync(at('node_modules/@adnet/sdk/package.json'), 'utf8'));
  assert.deepEqual(
    Object.keys(exports)
      .filter((name) => name !== './package.json')
      .sort(),
    Object.keys(limits).sort(),
  );
  for (const [name, limit] of Object.entries(limits)) {
    const {
      outputFiles: [file],
    } = await build({
      entryPoints: [at(`node_modules/@adnet/sdk/${exports[name].default}`)],
      bundle: true,
      minify: true,
      format: 'esm',
      external: ['react', 'react/jsx-runtime'],
      write: false,
    });
    const size = gzipSync(file.contents).length;
    assert.ok(size <= limit, `${name} has ${size} bytes, at most ${limit}`);
  }
});

test('every import works where there is no page, as on a server that renders one', async () => {
  const { exports } = JSON.parse(readFileSync(at('node_modules/@adnet/sdk/package.json'), 'utf8'));
  for (const name of Object.keys(exports).filter(
    (one) => one !== './package.json' && one !== './react',
  ))
    await import(`@adnet/sdk${name.slice(1)}`);
});

/** Runs the smoke test in another runtime: binary is where an npm package keeps the program. */
function elsewhere(name, binary, ...args) {
  test(`${name} imports it and gets an ad`, {
    skip: !existsSync(binary ?? '') && process.env.CI !== 'true' && `there is no ${name}`,
  }, () => {
    const said = run(binary, [...args, at('smoke.mjs')], {
      env: { ...process.env, SMOKE_URL: world.url, SMOKE_KEY: world.keys.sandbox },
    });
    assert.equal(said.trim(), 'filled');
  });
}

const inside = (folder, file) =>
  readdirSync(at(`node_modules/${folder}`))
    .map((one) => at(`node_modules/${folder}/${one}/${file}`))
    .find((path) => existsSync(path));
elsewhere('Node', process.execPath);
elsewhere('Deno', inside('@deno', 'deno'), 'run', '--quiet', '--no-lock', '--allow-all');
elsewhere('Bun', inside('@oven', 'bin/bun'));

test('Workers import it and get an ad', async () => {
  const {
    outputFiles: [script],
  } = await build({
    stdin: {
      resolveDir: at('.'),
      contents:
        'import { smoke } from "./smoke.mjs"; export default { fetch: async (_, env) => ' +
        'new Response(await smoke(env.URL, env.KEY)) }',
    },
    bundle: true,
    format: 'esm',
    external: ['node:process'],
    conditions: ['workerd'],
    write: false,
  });
  const worker = new Miniflare({
    modules: true,
    script: script.text,
    compatibilityDate: '2025-12-01',
    bindings: { URL: world.url, KEY: world.keys.sandbox },
    compatibilityFlags: ['nodejs_compat'],
  });
  try {
    assert.equal(await (await worker.dispatchFetch('http://localhost/')).text(), 'filled');
  } finally {
    await worker.dispose();
  }
});

test('lock files name no registry', () => {
  for (const folder of ['../../web/sdk', '.', '../../examples'])
    assert.doesNotMatch(
      readFileSync(at(`${folder}/package-lock.json`), 'utf8'),
      /"resolved"/,
      folder,
    );
});
