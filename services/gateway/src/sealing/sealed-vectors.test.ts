import { createKeyRing, createVault, type SealContext } from '@postern/vault';
import { expect, test } from 'vitest';
import {
  apiKeyContext,
  connectionContext,
  credentialContext,
  deviceContext,
  registrationContext,
  resultContext,
  transactionContext,
  verificationContext,
} from './seal-contexts.ts';

const elicitationId = `el_00${'A'.repeat(43)}` as const;
const subject = { issuer: 'https://id.example', subject: 'alice' };
const connection = { owner: 'tracker', subject, elicitationId, provider: 'github', resource: 'https://api.example' };
const { resource: _, ...withoutResource } = connection;
const result = { elicitationId, mcpServerId: 'tracker', subject, request: { kind: 'form' } } as const;
const credential = { owner: 'tracker', subject, name: 'acme-api', elicitationId };
const transaction = { digest: 'D'.repeat(43), elicitationId };

// Sealed once, and never again: a stored value must open after every change of the code.
test.each<readonly [what: string, context: SealContext, sealed: string]>([
  [
    'tokens',
    connectionContext(connection),
    'eyJhbGciOiJBMjU2R0NNS1ciLCJlbmMiOiJBMjU2R0NNIiwia2lkIjoiZmlyc3QiLCJpdiI6ImtwcWZjNEl3dU5EVW11YjgiLCJ0YWciOiJwcmU5UW03SW5VMFJxY2FQT2JpUFVnIn0.5DKoya0CSxd42hd2uOqR3tIzIN46ZGfh9hKUwoLcmEo.PUXDN9GrcW8Xdcd2.Jc-z-9Pv.Sy8v_HmvcZDx9u44xw0tuw',
  ],
  [
    'tokens without a resource',
    connectionContext(withoutResource),
    'eyJhbGciOiJBMjU2R0NNS1ciLCJlbmMiOiJBMjU2R0NNIiwia2lkIjoiZmlyc3QiLCJpdiI6IkNabk5MNXhkckFzOWpjVkkiLCJ0YWciOiJvMHgyeENrWkRZTmJ2bU43T1hLaXZBIn0.7QeX-18df0VLPbi-6UOgs8qyLdMTcdn_ot2T8Alii64.IU9UP3tkhMNROg9D.Tcp76uu8.0APITFeJHjjsVOz9URCwNg',
  ],
  [
    'a result',
    resultContext(result),
    'eyJhbGciOiJBMjU2R0NNS1ciLCJlbmMiOiJBMjU2R0NNIiwia2lkIjoiZmlyc3QiLCJpdiI6InREQzQ1QlhiX3JFNGwtQ04iLCJ0YWciOiJJdnd6RVpycWVEM3pXV2lMZVJBZUx3In0.iTfStUVvclXowgMKRtQ_glR2pT1Ikngg0BwztrbXRx0.cyexQBOSa0GgXcg2.fYkZwe95.98M_U9mUWD3_lcu71lyZNQ',
  ],
  [
    'a credential',
    credentialContext(credential),
    'eyJhbGciOiJBMjU2R0NNS1ciLCJlbmMiOiJBMjU2R0NNIiwia2lkIjoiZmlyc3QiLCJpdiI6ImF0TjVud1NfNjhrcV9RNEEiLCJ0YWciOiJUZG1WOFZTZTQxMzV6ejQyQThwRElRIn0.OVw7sWhFvqSSrkPjIKbZCZSJ0czAOhoatpWviGBGVaM.Y2wLRXM49P3AoYgy.Jcz8R54-.gIrB-EJLSSWBTmEN3oH_tg',
  ],
  [
    'an API key',
    apiKeyContext({ id: 'k1', mcpServerId: 'tracker' }),
    'eyJhbGciOiJBMjU2R0NNS1ciLCJlbmMiOiJBMjU2R0NNIiwia2lkIjoiZmlyc3QiLCJpdiI6IlA2OFh4WE1xM0o4c1BSUFoiLCJ0YWciOiJmdjZLM0NLUUhxSzJadXM4X2pBajdBIn0.KlaXSHqRs2XkDIlY3pFTGW7mp3aFA_tY0qDmqIFbS8w.U0i4Xr-AouhbrrRV.26d_sTbI.dzSJK2h0OjnVq31-LoOCew',
  ],
  [
    'a registration',
    registrationContext('key'),
    'eyJhbGciOiJBMjU2R0NNS1ciLCJlbmMiOiJBMjU2R0NNIiwia2lkIjoiZmlyc3QiLCJpdiI6ImIxWkZsR0pLX0Vrdm85V0QiLCJ0YWciOiJxeW9IcWNINDRpSFNQbERnUXoyelBBIn0.xVvA_LPQSd-XI8AxdMjDk8icw0E7KU_BwlJGzgSHkXQ.eN01Qts82WApjISp.H-uaQW5E.5Rv8RqEWSN4UigxeiwYoIA',
  ],
  [
    'a transaction',
    transactionContext(transaction),
    'eyJhbGciOiJBMjU2R0NNS1ciLCJlbmMiOiJBMjU2R0NNIiwia2lkIjoiZmlyc3QiLCJpdiI6IjAxUXQ4WkdPLThhOGFsRlIiLCJ0YWciOiJ1S25Xc01MejNWZmZYejhObWRDR2NBIn0.9I7UAAJELzz79zZFt9YxXZzDLQsOGWdY-UIDYoO3R-Y.HBTf5xOPUu1yCsVh.0jnRoT0c.zlyq27lgVdnSzSzd-RuzXw',
  ],
  [
    'a verification',
    verificationContext(transaction),
    'eyJhbGciOiJBMjU2R0NNS1ciLCJlbmMiOiJBMjU2R0NNIiwia2lkIjoiZmlyc3QiLCJpdiI6IklHdmJPenA4WkRRYlNWYjciLCJ0YWciOiI5RDFEVGI3dk1TN2U1bEpxajdFQ3JBIn0.-LKS4cX_E2TfOCQg2NHwD4ECEmkcJyHTf67Q7TCPzZs.C3upvK6KDsq4CZOq.MBT3J3az.2S9eOaRe8-Z9SgHY7qxJBA',
  ],
  [
    'a device',
    deviceContext(transaction),
    'eyJhbGciOiJBMjU2R0NNS1ciLCJlbmMiOiJBMjU2R0NNIiwia2lkIjoiZmlyc3QiLCJpdiI6ImJtNXdvekNRNUhZcFE3Z3EiLCJ0YWciOiIya2htQlN1MjZWSzFraHlmMFBSVXhnIn0.KC8Ex34bOziMrrXgXDtXcKrueAH9krg0o3-bGaHZPvo.PaXd7wHBsfcA06HX.8oCsnPhB.xwEPaIhntD_mdQq8MKEcWA',
  ],
])('a stored value opens: %s', async (_what, context, sealed) => {
  const vault = createVault(createKeyRing([{ kid: 'first', key: new Uint8Array(32).fill(7) }]));
  expect(await vault.open(sealed, context)).toBe('secret');
});
