/** Milliseconds since 1970. Pure code takes the value, shells take the function, tests give their own. */
export type Clock = () => number;

export const systemClock: Clock = () => Date.now();
