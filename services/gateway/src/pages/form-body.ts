import { Readable } from 'node:stream';
import { type PropertySchema, requestedSchemaSchema } from '@postern/api/form';
import type { Elicitation } from '@postern/elicitation';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { requestContext } from '../platform/http/request-context.ts';
import { readBody } from '../platform/http/request-input.ts';
import { PageError } from './page-request.ts';

/** Maximum size of a submitted form. */
export interface FormLimits {
  readonly controls: number;
  /** Encoded, as sent. */
  readonly bytes: number;
}

/** Limits of a form without input fields: CSRF token, shown digest, passkey ceremony and authenticator response. */
export const BASE_FORM_LIMITS: FormLimits = { controls: 4, bytes: 16 * 1024 };

/** A character takes at most four bytes in UTF-8, each escaped as three. */
const BYTES_PER_CHARACTER = 12;
/** The prefix of an input's name, `=` and `&`. */
const FRAME_BYTES = 'field.'.length + 2;
const MAX_TEXT_LENGTH = 4096;
/** Upper bound for any form. */
export const MAX_POSTED_BYTES = 320 * 1024;
/** Of a number or a boolean. */
const SHORT_VALUE_LENGTH = 128;

interface Control {
  readonly name: string;
  readonly maxLength: number;
}

/** Returns the limits of the forms on the page of this elicitation. */
export function formLimitsOf({ request }: Elicitation): FormLimits {
  switch (request.kind) {
    case 'credential':
      return limitsOf(request.fields);
    case 'form': {
      // Checked when issued; parsed again because it comes from the store.
      const { properties } = requestedSchemaSchema.parse(request.requestedSchema);
      return limitsOf(Object.entries(properties).flatMap(([name, property]) => controlsOf(name, property)));
    }
    default:
      return BASE_FORM_LIMITS;
  }
}

function limitsOf(controls: readonly Control[]): FormLimits {
  const typed = controls.map(
    ({ name, maxLength }) => FRAME_BYTES + (name.length + Math.min(maxLength, MAX_TEXT_LENGTH)) * BYTES_PER_CHARACTER,
  );
  return {
    controls: BASE_FORM_LIMITS.controls + controls.length,
    bytes: Math.min(
      typed.reduce((sum, bytes) => sum + bytes, BASE_FORM_LIMITS.bytes),
      MAX_POSTED_BYTES,
    ),
  };
}

function controlsOf(name: string, property: PropertySchema): readonly Control[] {
  switch (property.type) {
    case 'boolean':
    case 'number':
    case 'integer':
      return [{ name, maxLength: SHORT_VALUE_LENGTH }];
    case 'array': {
      const { items } = property;
      const values = 'enum' in items ? items.enum : items.anyOf.map(option => option.const);
      return values.map(value => ({ name, maxLength: value.length }));
    }
    case 'string': {
      const control = {
        name,
        maxLength: ('maxLength' in property ? property.maxLength : undefined) ?? MAX_TEXT_LENGTH,
      };
      // The page has two inputs: local time and offset.
      return 'format' in property && property.format === 'date-time' ? [control, control] : [control];
    }
  }
}

const AMPERSAND = 0x26;

/** Leaves form bodies unread. Routes call `readFormBody` once they know the visitor and the elicitation. */
export function deferFormParsing(app: FastifyInstance): void {
  app.addContentTypeParser('application/x-www-form-urlencoded', (_request, payload, done) => done(null, payload));
}

/**
 * Reads a form (application/x-www-form-urlencoded), once. A repeated name gets a list of values.
 * @returns undefined without a body
 * @throws ProblemError `payload_too_large`; PageError `bad_request` for more controls than the page has, before decoding
 */
export async function readFormBody(request: FastifyRequest, limits: FormLimits): Promise<object | undefined> {
  if (!(request.body instanceof Readable)) return undefined;
  // While a slow sender sends, its request does not count as in flight.
  const permit = requestContext()?.permit;
  const read = () => readBody(request, limits.bytes);
  const bytes = await (permit === undefined ? read() : permit.waitFor(read));
  if (controlsIn(bytes) > limits.controls) throw new PageError('bad_request');
  return fieldsIn(bytes.toString());
}

function controlsIn(bytes: Buffer): number {
  let count = 1;
  for (const byte of bytes) if (byte === AMPERSAND) count += 1;
  return count;
}

function fieldsIn(text: string): object {
  const fields = new Map<string, string | string[]>();
  for (const [name, value] of new URLSearchParams(text)) {
    const before = fields.get(name);
    fields.set(name, before === undefined ? value : [before, value].flat());
  }
  return Object.fromEntries(fields);
}
