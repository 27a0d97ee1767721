/** Both ends ask a silent peer for a sign of life this often, and give it up after so long. */
export const keepaliveMs = 10_000;
export const keepaliveTimeoutMs = 5_000;
