/** Slots that calls take in the order in which they ask. */
export interface Slots {
  /** Waits for a slot. @throws what `refuse` returns: `full` when too many calls wait, `aborted` when the signal aborts */
  acquire(signal: AbortSignal): Promise<Disposable>;
}

/** @param p.count calls at the same time */
export function createSlots(p: {
  readonly count: number;
  /** Maximum number of calls that wait. */
  readonly queued: number;
  readonly refuse: (why: 'full' | 'aborted') => Error;
}): Slots {
  const queue = new Set<() => void>();
  let taken = 0;

  function release(): void {
    const [next] = queue;
    if (next === undefined) taken -= 1;
    else next();
  }

  return {
    async acquire(signal) {
      if (signal.aborted) throw p.refuse('aborted');
      if (taken < p.count) taken += 1;
      else if (queue.size >= p.queued) throw p.refuse('full');
      else
        await new Promise<void>((resolve, reject) => {
          const leave = () => {
            queue.delete(proceed);
            reject(p.refuse('aborted'));
          };
          const proceed = () => {
            queue.delete(proceed);
            signal.removeEventListener('abort', leave);
            resolve();
          };
          queue.add(proceed);
          signal.addEventListener('abort', leave, { once: true });
        });
      return { [Symbol.dispose]: release };
    },
  };
}
