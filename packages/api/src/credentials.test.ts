import { expect, test } from 'vitest';
import { credentialFieldSchema } from './credentials.ts';

test.each(['a\ud800', 'a\u202e', 'a\nb', '', 'a'.repeat(201)])('refuses the pattern %j', pattern => {
  const { error } = credentialFieldSchema.safeParse({ name: 'key', label: 'Key', pattern });
  expect(error?.issues[0]?.path).toEqual(['pattern']);
});
