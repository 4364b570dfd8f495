import { z } from 'zod/v4';

/** The four formats of MCP's restricted schema, as JSON Schema Validation 2020-12 section 7.3 defines them. */

/** A common address with a domain; excludes rare forms of RFC 5321 such as quoted local parts. At most 254 octets. */
const email = z.email().max(254);

/**
 * RFC 3986 section 3: a scheme, then only URI characters. Allows any scheme, because the schema cannot restrict it and the
 * value is data that our pages never link. An internationalised address must be in its ASCII form.
 */
const URI = /^[a-z][a-z0-9+.-]*:(?:[\w.~:/?#[\]@!$&'()*+,;=-]|%[0-9a-f]{2})+$/i;

/** RFC 3339 section 5.6 `full-date`; zod knows how many days a month has. */
const date = z.iso.date();

/** RFC 3339 section 5.6 `date-time`: with seconds and an offset. */
const DATE_TIME =
  /^(\d{4}-\d\d-\d\d)[Tt]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

export function formatFits(format: 'email' | 'uri' | 'date' | 'date-time', text: string): boolean {
  switch (format) {
    case 'email':
      return email.safeParse(text).success;
    case 'uri':
      return URI.test(text) && URL.canParse(text);
    case 'date':
      return date.safeParse(text).success;
    case 'date-time': {
      const day = DATE_TIME.exec(text)?.[1];
      return day !== undefined && date.safeParse(day).success;
    }
  }
}
