// Runs a command with a fresh world (a real `adnet standalone`) and, with --mock, the mock of
// openapi.json: node with.mjs [--mock] PROGRAM COMMAND ... . The command finds both as JSON in
// ADNET_WORLD, and ends both by ending.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { mock, values } from './mock.mjs';
import { standalone, world } from './world.mjs';

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const args = process.argv.slice(2);
const mocked = args[0] === '--mock' && args.shift();
const [program, ...command] = args;
const table = at('../cases/cases.json');

const server = await standalone(program);
let playing;
try {
  if (mocked)
    playing = await mock(
      at('../../schemas/openapi/openapi.json'),
      JSON.parse(readFileSync(table, 'utf8')),
    );
  const made = {
    ...(await world(server.url)),
    table,
    ...(playing && { mock: { url: playing.url, values } }),
  };
  const child = spawn(command[0], command.slice(1), {
    stdio: 'inherit',
    env: { ...process.env, ADNET_WORLD: JSON.stringify(made) },
  });
  process.exitCode = await new Promise((done) => child.on('exit', (code) => done(code ?? 1)));
} finally {
  playing?.stop();
  await server.stop();
}
