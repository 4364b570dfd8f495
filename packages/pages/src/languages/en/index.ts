import { account } from './account.ts';
import { approvals } from './approvals.ts';
import { authorization } from './authorization.ts';
import { common } from './common.ts';
import { endings } from './endings.ts';
import { entries } from './entries.ts';
import { identity } from './identity.ts';
import { me } from './me.ts';
import { moreScopes } from './more-scopes.ts';
import { scopes as mostUsed } from './scopes.ts';

/** The English texts, which define the list of all texts. */
export const texts = { account, approvals, authorization, common, endings, entries, identity, me };

export const scopes = { ...moreScopes, ...mostUsed };
