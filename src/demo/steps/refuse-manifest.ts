import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { runFairway } from '../children.ts';
import { type Stage, shop, target, type Walk } from '../stage.ts';

/** A change that is wrong is refused as a whole, with the reason for each fault. */

const file = 'bad.yaml';
const manifest = `apiVersion: fairway/v1
kind: BackendPool
metadata: { name: ${shop.pool} }
spec:
  members:
    - { address: 127.0.0.1, port: 70000 }
  algoritm: leastRequest
  connectTimeout: 5 seconds
`;

export async function refuseManifest(walk: Walk, stage: Stage): Promise<void> {
  const { report, folder, signal } = walk;
  const pool = target('BackendPool', shop.pool);
  const output = await report.step('A bad manifest is refused', async () => {
    writeFileSync(join(folder, file), manifest);
    const before = await stage.rest.get(pool);
    const env = { FAIRWAY_SERVER: stage.rest.url, NO_COLOR: '1' };
    const { code, output } = await runFairway(['apply', '-f', file], { cwd: folder, env, signal });
    if (code === 0) throw new Error(`it was taken: ${output}`);
    const after = await stage.rest.get(pool);
    if (!isDeepStrictEqual(after.spec, before.spec)) throw new Error('it was refused, but the pool changed');
    return { say: `exit code ${code}, nothing changed`, value: output };
  });
  const numbered = manifest
    .trimEnd()
    .split('\n')
    .map((line, i) => `${String(i + 1).padStart(2)}  ${line}`);
  report.text(['', `${file}:`, ...numbered, '', `$ fairway apply -f ${file}`, ...output.trimEnd().split('\n')]);
}
