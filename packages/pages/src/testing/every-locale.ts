import type { Locale } from '../locale.ts';

export const everyLocale = Object.keys({ en: true, 'zh-Hans': true } satisfies Record<Locale, true>) as Locale[];
