import { samples } from '@postern/testkit/contract';
import { expect, test } from 'vitest';
import { announcementsOf, createPseudonyms } from './audit-log.ts';

const pseudonym = createPseudonyms(new Uint8Array(32).fill(7));

test('S87: announcements name users by the pseudonym of the audit trail, and exist only with an operator endpoint', () => {
  const subject = samples.somebody();
  const announcedAs = announcementsOf({ operatorWebhooks: [{}] }, pseudonym);
  expect(announcedAs(subject)).toBe(pseudonym(subject));
  expect(announcedAs(subject)).not.toContain(subject.subject);
  expect(announcementsOf({ operatorWebhooks: [] }, pseudonym)(subject)).toBeUndefined();
});
