/** Turns a hang into a failure, in milliseconds. No outcome depends on it, however busy the machine is. */
export const HANG_MS = 300_000;
