import { certificateObject } from '../certificate.ts';
import { type Stage, shop, target, type Walk } from '../stage.ts';
import { createClient } from '../traffic.ts';
import { countWords, furtherRequests, underLoad } from '../under-load.ts';
import { createWait } from '../until.ts';

/** The certificate of the shop is replaced: open connections go on, new ones see the new one. */

const limitMs = 15_000;
const calmRequests = 200;
/** New connections that must all show the new certificate once it is programmed. */
const sureHandshakes = 20;

export async function replaceCertificate(walk: Walk, stage: Stage): Promise<void> {
  const { rest, secure, authority, certificate: former } = stage;
  const trusted = authority.certificate;
  await walk.report.step('A certificate is replaced', async (progress) => {
    const certificate = await authority.issue(shop.host, '0B');
    const wait = createWait({ limitMs, signal: walk.signal });
    /** Asks by a connection of its own each time, and gives the serial number that it was shown. */
    const fresh = createClient({ port: secure, trusted, connections: 0 });
    let handshakes = 0;
    const serial = async (): Promise<string | undefined> => {
      const answer = await fresh.get(shop.host, '/');
      if (answer.status !== 200) throw new Error(`a new connection got status ${answer.status}`);
      handshakes++;
      return answer.serial;
    };
    try {
      const { result: afterMs, count } = await underLoad({ port: secure, trusted }, progress, async (load) => {
        await furtherRequests(load, calmRequests, wait);
        const first = await serial();
        if (first !== former.serial) throw new Error(`the certificate shown has serial ${first}, not ${former.serial}`);
        const began = performance.now();
        await rest.apply([certificateObject(shop.certificate, certificate)]);
        await wait(async () => ((await serial()) === certificate.serial ? true : undefined), 'the new certificate');
        const afterMs = Math.round(performance.now() - began);
        await rest.programmed(target('Certificate', shop.certificate));
        for (let n = 0; n < sureHandshakes; n++) {
          const shown = await serial();
          if (shown !== certificate.serial) throw new Error(`a later connection was shown serial ${shown} again`);
        }
        await furtherRequests(load, calmRequests, wait);
        return afterMs;
      });
      const all = { requests: count.requests + handshakes, failed: count.failed };
      const serials = `serial ${former.serial} before, ${certificate.serial} after ${afterMs} ms`;
      return { say: `${countWords(all)}; new handshakes show ${serials}`, value: undefined };
    } finally {
      fresh.close();
    }
  });
}
