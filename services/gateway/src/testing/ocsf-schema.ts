import { z } from 'zod';

/**
 * Facts of the Open Cybersecurity Schema Framework 1.8.0 (github.com/ocsf/ocsf-schema, events/ and objects/) about the classes that the
 * audit trail maps to: required attributes, allowed ones, and values of enumerations. An attribute that is not here is a fault.
 */

const text = z.string().min(1);
const anyOf = (schema: z.ZodObject, names: readonly string[]) =>
  schema.refine(value => names.some(name => name in value), { error: `needs one of ${names.join(', ')}` });

/** type_id: 0 Unknown, 1 User, 2 Admin. */
const user = anyOf(
  z.strictObject({
    uid: text.optional(),
    name: text.optional(),
    type_id: z.union([z.literal(0), z.literal(1), z.literal(2)]),
  }),
  ['account', 'name', 'uid'],
);
const actor = anyOf(
  z.strictObject({
    user: user.optional(),
    app_uid: text.optional(),
    app_name: text.optional(),
    session: z.strictObject({ credential_uid: text }).optional(),
  }),
  ['process', 'user', 'invoked_by', 'session', 'app_name', 'app_uid'],
);
/** type_id: 2 User, 99 Other, whose `type` is our own word. */
const entity = anyOf(
  z.strictObject({
    uid: text.optional(),
    name: text.optional(),
    user: user.optional(),
    type: text,
    type_id: z.union([z.literal(2), z.literal(99)]),
  }),
  ['name', 'uid', 'device', 'group', 'org', 'policy', 'user'],
);

const base = {
  metadata: z.strictObject({
    version: z.literal('1.8.0'),
    product: z.strictObject({ name: text, vendor_name: text }),
    uid: text,
    event_code: text,
    log_name: text,
    original_time: text,
    correlation_uid: text.optional(),
  }),
  time: z.int().positive(),
  severity_id: z.int().min(0).max(6),
  status_id: z.int().min(0).max(2),
  status_code: text.optional(),
  message: text.optional(),
  activity_name: text.optional(),
  unmapped: z.record(z.string(), z.unknown()).optional(),
};
/** Of the category Identity & Access Management. */
const iam = { actor: actor.optional(), src_endpoint: z.strictObject({ ip: text }).optional() };

function classOf(
  p: { readonly uid: number; readonly category: number; readonly activities: readonly number[] },
  shape: z.core.$ZodLooseShape,
) {
  const types = p.activities.map(activity => p.uid * 100 + activity);
  return z
    .strictObject({
      ...base,
      ...shape,
      class_uid: z.literal(p.uid),
      category_uid: z.literal(p.category),
      activity_id: z.literal(p.activities),
      type_uid: z.literal(types),
    })
    .refine(({ type_uid, activity_id }) => Number(type_uid) % 100 === activity_id);
}

const upTo = (last: number) => [...Array.from({ length: last + 1 }, (_, id) => id), 99];

export const ocsfSchema = z.discriminatedUnion('class_uid', [
  classOf({ uid: 0, category: 0, activities: [0, 99] }, {}),
  classOf({ uid: 3001, category: 3, activities: upTo(12) }, { ...iam, user }),
  classOf({ uid: 3002, category: 3, activities: upTo(7) }, { ...iam, user, service: z.strictObject({ name: text }) }),
  classOf({ uid: 3004, category: 3, activities: upTo(13) }, { ...iam, entity, comment: text.optional() }),
  classOf({ uid: 6008, category: 6, activities: upTo(2) }, {}),
]);
