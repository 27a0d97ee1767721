import { createMemoryStore } from '../../src/store/index.ts';
import { storeContract } from './store.ts';

storeContract('memory', async (options) => createMemoryStore(options));
