/** Loaded before a gateway: measures how long SQLite blocks each turn of its event loop, and sends the times when asked. */
import { StatementSync } from 'node:sqlite';

/** In milliseconds, one for each turn that used SQLite. */
let turns: number[] = [];
let spent = 0;

function count(ms: number): void {
  if (spent === 0)
    setImmediate(() => {
      turns.push(spent);
      spent = 0;
    });
  spent += ms;
}

for (const verb of ['run', 'get', 'all'] as const) {
  const call: (...values: never[]) => unknown = StatementSync.prototype[verb];
  Object.defineProperty(StatementSync.prototype, verb, {
    value(this: StatementSync, ...values: never[]) {
      const startedAt = performance.now();
      try {
        return Reflect.apply(call, this, values);
      } finally {
        count(performance.now() - startedAt);
      }
    },
  });
}

process.on('message', () => {
  process.send?.(turns);
  turns = [];
});
