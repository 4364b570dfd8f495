import { type OneTimeRecord, RECORD_LAYOUT } from '@postern/elicitation';
import { z } from 'zod';
import { decode, elicitationId, layout, text } from './record-layout.ts';

const oneTimeSchema = z.object({
  layout,
  elicitationId,
  mcpServerId: text,
  provider: text.exactOptional(),
  browserBinding: text.exactOptional(),
});

export function encodeOneTime(record: OneTimeRecord): string {
  const { elicitationId, mcpServerId, provider, browserBinding } = record;
  return JSON.stringify({ layout: RECORD_LAYOUT, elicitationId, mcpServerId, provider, browserBinding });
}

/** @throws DomainError `unknown_record_layout` */
export function decodeOneTime(json: string, digest: string): Omit<OneTimeRecord, 'sealed'> {
  const { layout: _, ...record } = decode(oneTimeSchema, json);
  return { digest, ...record };
}
