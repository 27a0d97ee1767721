/**
 * `npm run bench` lists the benches, `npm run bench -- NAME` runs one, `-- all` all, each in a process of its own. The
 * last line of a bench is its result as JSON; the exit code is 1 when a bar does not hold or a bench breaks.
 */
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { judge, type Scenario, toJson, toTable } from './report.ts';

const folder = new URL('scenarios/', import.meta.url);

function names(): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.ts'))
    .map((name) => basename(name, '.ts'))
    .sort();
}

async function load(name: string): Promise<Scenario> {
  return (await import(new URL(`${name}.ts`, folder).href)) as Scenario;
}

async function list(): Promise<void> {
  const width = Math.max(0, ...names().map((name) => name.length));
  for (const name of names()) console.log(`${name.padEnd(width)}  ${(await load(name)).title}`);
  console.log('\nnpm run bench -- NAME runs one, npm run bench -- all all of them.');
}

/** True when every bar holds. */
async function runOne(name: string): Promise<boolean> {
  const scenario = await load(name);
  console.log(`${name}: ${scenario.title}\n`);
  const rows = await scenario.run();
  const judged = rows.map(judge);
  // `peer: null` is a peer that could not be had; no `peer` is none.
  const peers = rows.map((row) => (row.peer === null ? 'missing' : row.peer?.name));
  console.log(`${toTable(judged, peers)}\n`);
  console.log(toJson(name, judged));
  return judged.every(({ holds }) => holds !== false);
}

/** Each bench gets a fresh process: what one leaves in memory would be in the way of the next one's figures. */
async function runAll(): Promise<boolean> {
  let good = true;
  for (const [index, name] of names().entries()) {
    if (index > 0) console.log();
    const child = spawn(process.execPath, [fileURLToPath(import.meta.url), name], { stdio: 'inherit' });
    const code = await new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', resolve);
    });
    if (code !== 0) good = false;
  }
  return good;
}

const [name, ...rest] = process.argv.slice(2);
if (name === undefined) await list();
else if (name === 'all') process.exitCode = (await runAll()) ? 0 : 1;
else if (!names().includes(name) || rest.length > 0) {
  console.error(`There is no bench ${[name, ...rest].join(' ')}; the benches are ${names().join(', ')}.`);
  process.exitCode = 2;
} else process.exitCode = (await runOne(name)) ? 0 : 1;
