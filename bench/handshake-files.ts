/** The certificates of the handshakes: one authority, a server, and a client for each connection. */
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createKey, createRoot, issueToController, issueToNode } from '../src/pki/certificates.ts';

/** Their names in the folder. */
export const files = { cert: 'server.pem', key: 'server.key', ca: 'ca.pem', clients: 'clients.json' } as const;

export interface ClientFiles {
  readonly node: string;
  readonly cert: string;
  readonly key: string;
}

export const fleet = 'edge';
const trustDomain = 'bench.example';
const lifeMs = 86_400_000;

const publicKeyOf = (key: string) => createPublicKey(createPrivateKey(key));

export async function writeFiles(folder: string, clients: number): Promise<void> {
  const now = Date.now();
  const root = await createRoot(trustDomain, now);
  const key = createKey();
  const hosts = [{ type: 'ip', value: '127.0.0.1' }] as const;
  const { certificate } = await issueToController(root, publicKeyOf(key), { trustDomain, hosts }, { now, lifeMs });
  writeFileSync(join(folder, files.key), key);
  writeFileSync(join(folder, files.cert), certificate);
  writeFileSync(join(folder, files.ca), root.certificate);
  const all: ClientFiles[] = [];
  for (let n = 0; n < clients; n += 1) {
    const node = `node-${n}`;
    const key = createKey();
    // By its name: this authority knows no uids.
    const subject = { trustDomain, fleet, node, uid: node };
    const { certificate } = await issueToNode(root, publicKeyOf(key), subject, { now, lifeMs });
    all.push({ node, cert: certificate, key });
  }
  writeFileSync(join(folder, files.clients), JSON.stringify(all));
}
