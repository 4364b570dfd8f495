import { RECORD_LAYOUT } from '@postern/elicitation';
import { z } from 'zod';
import { decode, layout, text } from './record-layout.ts';

const clientRegistrationSchema = z.object({ layout, sealedRegistration: text });

/** The same registration is the same text. */
export function encodeClientRegistration(sealedRegistration: string): string {
  return JSON.stringify({ layout: RECORD_LAYOUT, sealedRegistration });
}

/** @throws DomainError `unknown_record_layout` */
export function decodeClientRegistration(json: string): string {
  return decode(clientRegistrationSchema, json).sealedRegistration;
}
