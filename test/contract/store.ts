import { describe } from 'vitest';
import { commitContract } from './store-commit.ts';
import { compactContract } from './store-compact.ts';
import type { OpenStore } from './store-fixture.ts';
import { limitContract, type Reserved } from './store-limits.ts';
import { readContract } from './store-read.ts';
import { watchContract } from './store-watch.ts';

/**
 * What every store keeps, whatever it is made of. `open` is called once or more in each test; `reserved` is what a layer
 * around a store takes of its limits for itself.
 */
export function storeContract(name: string, open: OpenStore, reserved?: Reserved): void {
  describe(`${name} store`, () => {
    commitContract(open);
    limitContract(open, reserved);
    readContract(open);
    watchContract(open);
    compactContract(open);
  });
}
