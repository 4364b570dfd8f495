/** Only turns a hang into a failure, in milliseconds. No outcome depends on it: a busy machine takes as long as it takes. */
export const HANG_MS = 300_000;
