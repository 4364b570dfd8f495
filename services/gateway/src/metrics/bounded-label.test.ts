import { describe, expect, it } from 'vitest';
import { createBoundedLabel } from './bounded-label.ts';

describe('a bounded label', () => {
  it('keeps short codes apart, and says what is absent', () => {
    const label = createBoundedLabel(3);
    expect(['provider_denied', 'expired', 'expired', undefined].map(label)).toEqual([
      'provider_denied',
      'expired',
      'expired',
      'none',
    ]);
  });

  it.each([
    'el_4fAbCdEfGhIjKlMnOpQrStUvWxYz0123456789',
    'alice@example.com',
    'https://forge.example/token',
    'forge.example',
    'two words',
    'x\n{y="z"} 1',
    `a${'b'.repeat(40)}`,
    '',
    7,
    null,
    { code: 'x' },
  ])('never becomes %j', value => {
    expect(createBoundedLabel(3)(value)).toBe('other');
  });

  it('has a last value', () => {
    const label = createBoundedLabel(3);
    const values = Array.from({ length: 1000 }, (_, n) => label(`code_${n}`));
    expect(new Set(values)).toEqual(new Set(['code_0', 'code_1', 'code_2', 'other']));
    expect(label('code_1')).toBe('code_1');
  });
});
