import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Inbox, Outbox, type Parcel } from '../../../src/xds/io/parcel.ts';
import { until } from '../../support/until.ts';

type Item = { readonly call: number; readonly pieces: readonly Uint8Array[] } | { readonly rare: string } | 'flush';

const item: fc.Arbitrary<Item> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ call: fc.integer({ min: 1, max: 2 ** 32 - 1 }), pieces: fc.array(fc.uint8Array()) }),
  },
  { weight: 2, arbitrary: fc.record({ rare: fc.string() }) },
  { weight: 1, arbitrary: fc.constant('flush' as const) },
);

/** As between threads: nothing of a parcel that was sent is there any more for the one who sent it. */
function across<T>(parcel: Parcel<T>, moved: ArrayBuffer[]): Parcel<T> {
  return structuredClone(parcel, { transfer: moved });
}

describe('what goes from one thread to another', () => {
  it('comes whole and in order, however it is divided', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(item), async (items) => {
        const came: unknown[] = [];
        const inbox = new Inbox<string>({
          onMessage: (call, bytes) => came.push([call, Buffer.from(bytes).toString('hex')]),
          onRare: (rare) => came.push(rare),
        });
        const outbox = new Outbox<string>({
          send: (parcel, moved) => inbox.take(across(parcel, moved)),
          plan: () => undefined,
        });
        const put: unknown[] = [];
        for (const one of items) {
          if (one === 'flush') outbox.flush();
          else if ('rare' in one) {
            outbox.rare(one.rare);
            put.push(one.rare);
          } else {
            const whole = Buffer.concat(one.pieces);
            outbox.message(one.call, whole.byteLength);
            for (const piece of one.pieces) outbox.put(piece);
            put.push([one.call, whole.toString('hex')]);
          }
        }
        outbox.flush();
        await until('all to be taken', () => came.length >= put.length);
        expect(came).toEqual(put);
      }),
    );
  });

  it('goes together with all that is put in until the planned moment, and is planned once', () => {
    const plans: (() => void)[] = [];
    const sent: Parcel<string>[] = [];
    const outbox = new Outbox<string>({ send: (parcel) => sent.push(parcel), plan: (flush) => plans.push(flush) });
    for (let call = 1; call <= 100; call += 1) {
      outbox.message(call, 3);
      outbox.put(Uint8Array.of(1, 2, 3));
    }
    expect([plans.length, sent.length]).toEqual([1, 0]);
    plans[0]?.();
    expect(sent.map(({ bytes }) => bytes.byteLength)).toEqual([100 * (8 + 3)]);
    outbox.flush();
    expect(sent).toHaveLength(1);
    outbox.rare('next');
    expect(plans).toHaveLength(2);
  });

  it('moves memory along with what is rare', async () => {
    const memory = new ArrayBuffer(10);
    let came: Uint8Array | undefined;
    const inbox = new Inbox<Uint8Array>({ onMessage: () => undefined, onRare: (rare) => (came = rare) });
    const outbox = new Outbox<Uint8Array>({
      send: (parcel, moved) => inbox.take(across(parcel, moved)),
      plan: () => undefined,
    });
    outbox.rare(new Uint8Array(memory).fill(7), [memory]);
    outbox.flush();
    await until('it to come', () => came !== undefined);
    expect([memory.detached, came]).toEqual([true, new Uint8Array(10).fill(7)]);
  });

  it('is taken out in turns when it takes long', async () => {
    let came = 0;
    const inbox = new Inbox<string>({
      onMessage() {
        came += 1;
        for (const end = performance.now() + 2; performance.now() < end; );
      },
      onRare: () => undefined,
    });
    const outbox = new Outbox<string>({ send: (parcel) => inbox.take(parcel), plan: () => undefined });
    for (let call = 1; call <= 20; call += 1) outbox.message(call, 0);
    outbox.flush();
    outbox.message(21, 0);
    outbox.flush();
    const turns: number[] = [];
    const count = (): void => {
      turns.push(came);
      if (came < 21) setImmediate(count);
    };
    count();
    await until('all to be taken', () => came === 21);
    // In a turn of the loop no more than what goes into 4 ms.
    expect(Math.max(...turns.map((now, at) => now - (turns[at - 1] ?? 0)))).toBeLessThan(5);
  });
});
