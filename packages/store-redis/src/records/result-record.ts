import { type Elicitation, kinds } from '@postern/elicitation';
import { z } from 'zod';
import { decode, encode, subject, text } from './record-layout.ts';

/** Repeats the owner of the sealed result, so that key rotation need not read the elicitation. */
const resultSchema = z.object({
  mcpServerId: text,
  subject,
  kind: z.enum(kinds),
  sealedResult: text,
});

export function encodeResult(
  { mcpServerId, subject, request }: Pick<Elicitation, 'mcpServerId' | 'subject' | 'request'>,
  sealedResult: string,
): string {
  return encode({ mcpServerId, subject, kind: request.kind, sealedResult });
}

/** @throws DomainError `unknown_record_layout` */
export function decodeResult(json: string): string {
  return decode(resultSchema, json).sealedResult;
}
