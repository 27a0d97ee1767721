/** A delta client as a process: connects to the given address and writes a line of JSON for all that happens. */
import { createLogger } from '../../src/telemetry/log.ts';
import { createDeltaClient, encodeNode, typeUrls } from '../../src/xds/index.ts';
import { connectDelta } from '../../src/xds/io/index.ts';

const [, , address = ''] = process.argv;
const tell = (event: object): void => void process.stdout.write(`${JSON.stringify(event)}\n`);
const client = createDeltaClient({ node: encodeNode({ id: 'far', cluster: 'edge' }) });
client.subscribe(typeUrls.cluster, ['*']);
await connectDelta({
  client,
  address,
  log: createLogger({ level: 'silent' }),
  random: Math.random,
  onStep: ({ changed }) => tell({ event: 'step', names: changed.map(({ name }) => name) }),
  onEnded: ({ code }) => tell({ event: 'ended', code }),
});
