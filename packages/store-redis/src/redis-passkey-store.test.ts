import { expect, test } from 'vitest';
import { decodePasskey, encodePasskey } from './redis-passkey-store.ts';

const subject = { issuer: 'https://id.example.com', subject: 'alice' };
const passkey = {
  subject,
  passkeyId: 'AAAA',
  publicKey: 'pQEC',
  signCount: 4,
  backedUp: true,
  transports: ['internal', 'hybrid'],
  label: 'Phone 5 0 "x"\nof Alice',
};
const json = encodePasskey(passkey);

test('a passkey is read as it was added, and as its use was recorded', () => {
  const read = { ...passkey, createdAt: 1_000 };
  expect(decodePasskey(subject, 'AAAA', `4 1 1000 0 by ${json}`)).toEqual(read);
  expect(decodePasskey(subject, 'AAAA', `5 0 1000 2000 by ${json}`)).toEqual({
    ...read,
    signCount: 5,
    backedUp: false,
    lastUsedAt: 2_000,
  });
});

test("another user's passkey is rejected under this key", () => {
  const other = { ...subject, subject: 'mallory' };
  expect(() => decodePasskey(other, 'AAAA', `4 1 1000 0 by ${json}`)).toThrowError(
    expect.objectContaining({ code: 'unknown_record_layout' }),
  );
});

test.each([
  '',
  json,
  `-1 1 1000 0 by ${json}`,
  `4 2 1000 0 by ${json}`,
  `4 1 1000 0 by {}`,
  '4 1 1000 0 by',
  `4 1 1000 by ${json}`,
])('an unreadable passkey is rejected: %s', stored => {
  expect(() => decodePasskey(subject, 'AAAA', stored)).toThrowError(
    expect.objectContaining({ code: 'unknown_record_layout' }),
  );
});
