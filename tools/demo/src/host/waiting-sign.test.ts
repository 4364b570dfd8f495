import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createWaitingSign } from './waiting-sign.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('the sign moves until it is stopped, and ends its line once', () => {
  let written = '';
  const sign = createWaitingSign(text => {
    written += text;
  });
  sign.stop();
  expect(written).toBe('');
  sign.start();
  sign.start();
  vi.advanceTimersByTime(6_000);
  sign.stop();
  sign.stop();
  vi.advanceTimersByTime(6_000);
  expect(written).toBe('Waiting for the browser ...\n');
});
