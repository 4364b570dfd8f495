import { expect, test } from 'vitest';
import { collectStartGarbage } from './collect-start-garbage.ts';

test('what nobody holds any more is gone, and nobody else is handed a collector', () => {
  const left = new WeakRef({ big: 'x'.repeat(1024) });
  return new Promise<void>((resolve, reject) => {
    // A weak reference holds its object until the end of the turn that made it.
    setImmediate(() => {
      try {
        collectStartGarbage();
        expect(left.deref()).toBeUndefined();
        expect(globalThis.gc).toBeUndefined();
        resolve();
      } catch (error) {
        reject(error);
      }
    });
  });
});
