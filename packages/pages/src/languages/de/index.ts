import type { Language } from '../texts.ts';
import { account } from './account.ts';
import { approvals } from './approvals.ts';
import { authorization } from './authorization.ts';
import { common } from './common.ts';
import { endings } from './endings.ts';
import { entries } from './entries.ts';
import { identity } from './identity.ts';
import { me } from './me.ts';
import { scopes } from './scopes.ts';

export const de: Language = {
  texts: { account, approvals, authorization, common, endings, entries, identity, me },
  scopes,
};
