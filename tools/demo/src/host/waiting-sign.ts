/** Shows on a terminal that a call still waits for the browser. */
export interface WaitingSign {
  start(): void;
  /** Ends the line. Does nothing if the sign is not shown. */
  stop(): void;
}

const DOT_EVERY_MS = 2_000;

/** Writes a dot every two seconds, on one line, until stopped. */
export function createWaitingSign(write: (text: string) => void): WaitingSign {
  let timer: NodeJS.Timeout | undefined;
  return {
    start() {
      if (timer !== undefined) return;
      write('Waiting for the browser ');
      timer = setInterval(() => write('.'), DOT_EVERY_MS).unref();
    },
    stop() {
      if (timer === undefined) return;
      clearInterval(timer);
      timer = undefined;
      write('\n');
    },
  };
}
