import { type Elicitation, kinds, RECORD_LAYOUT } from '@postern/elicitation';
import { z } from 'zod';
import { decode, layout, subject, text } from './record-layout.ts';

/** What a sealed result is bound to stands beside it: keys are rotated without reading its elicitation. */
const resultSchema = z.object({
  layout,
  mcpServerId: text,
  subject,
  kind: z.enum(kinds),
  sealedResult: text,
});

export function encodeResult(
  { mcpServerId, subject, request }: Pick<Elicitation, 'mcpServerId' | 'subject' | 'request'>,
  sealedResult: string,
): string {
  return JSON.stringify({ layout: RECORD_LAYOUT, mcpServerId, subject, kind: request.kind, sealedResult });
}

/** @throws DomainError `unknown_record_layout` */
export function decodeResult(json: string): string {
  return decode(resultSchema, json).sealedResult;
}
