import { type NewBrowserSession, RECORD_LAYOUT } from '@postern/elicitation';
import { z } from 'zod';
import { decode, elicitationId, layout, subject, text, time } from './record-layout.ts';

const browserSessionSchema = z.object({
  layout,
  subject,
  origin: z.union([z.object({ identityProvider: text }), z.object({ vouchedBy: text })]),
  displayName: text,
  detail: text.exactOptional(),
  authTime: time.exactOptional(),
  provedFor: elicitationId.exactOptional(),
});

export function encodeBrowserSession(browserSession: NewBrowserSession): string {
  const { id: _, ...rest } = browserSession;
  return JSON.stringify({ ...rest, layout: RECORD_LAYOUT });
}

/** @throws DomainError `unknown_record_layout` */
export function decodeBrowserSession(json: string) {
  return decode(browserSessionSchema, json);
}
