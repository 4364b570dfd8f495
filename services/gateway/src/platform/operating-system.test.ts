import { expect, test } from 'vitest';
import { PROCESS_SIGNALS, reloadAdvice, watchTerminal } from './operating-system.ts';

const terminalOn = (platform: NodeJS.Platform, ...seen: readonly boolean[]) => {
  const looks = seen.values();
  return watchTerminal({ platform, hasTerminal: () => looks.next().value ?? false });
};

test.each([
  ['a terminal that is still open', [true, true], false],
  ['a terminal that was closed', [true, false], true],
  ['a service, which never had one', [false, false], false],
])('on POSIX, SIGHUP stops the process only without its terminal: %s', (_, seen, isClosed) => {
  expect(terminalOn('linux', ...seen)()).toBe(isClosed);
  expect(terminalOn('darwin', ...seen)()).toBe(isClosed);
});

test('on Windows, SIGHUP always means a closed terminal, and is no reload', () => {
  expect(terminalOn('win32')()).toBe(true);
});

test('a listener for the signals of every system can be added on each', () => {
  const ignore = () => {};
  for (const signal of PROCESS_SIGNALS)
    expect(() => process.on(signal, ignore).removeListener(signal, ignore)).not.toThrow();
});

test('advises SIGHUP only where it reloads', () => {
  expect(reloadAdvice({ platform: 'linux' })).toContain('SIGHUP');
  expect(reloadAdvice({ platform: 'win32' })).not.toContain('SIGHUP');
});
