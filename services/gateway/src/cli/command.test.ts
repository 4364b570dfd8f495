import { expect, test } from 'vitest';
import { UsageError } from './cli-io.ts';
import { actorOf, changeOf } from './command.ts';

test.each(['', 'two\nlines', '\u001b[2J', 'x'.repeat(201)])('S179: %j names no operator, and is no reason', text => {
  for (const read of [actorOf, changeOf]) {
    expect(() => read({ by: text, reason: 'ticket 7' })).toThrow(UsageError);
    expect(() => read({ by: 'olga', reason: text })).toThrow(UsageError);
  }
});
