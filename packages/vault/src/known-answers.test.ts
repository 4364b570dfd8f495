import { FlattenedEncrypt } from 'jose';
import { describe, expect, it } from 'vitest';
import { hex } from './testing/hex.ts';
import { decryptContent } from './vault.ts';

/**
 * Runs published test vectors through the function that opens every sealed value. `pnpm --filter @postern/vault wycheproof <folder>` does
 * the same with the files of Project Wycheproof.
 */

/** The cases of the GCM specification (McGrew and Viega, appendix B) with 256-bit keys and no additional data. */
const gcmCases = [
  {
    name: '13',
    key: '00'.repeat(32),
    iv: '00'.repeat(12),
    plain: '',
    cipher: '',
    tag: '530f8afbc74536b9a963b4f1c4cb738b',
  },
  {
    name: '14',
    key: '00'.repeat(32),
    iv: '00'.repeat(12),
    plain: '00'.repeat(16),
    cipher: 'cea7403d4d606b6e074ec5d3baf39d18',
    tag: 'd0d1c8a799996bf0265b98b5d48ab919',
  },
  {
    name: '15',
    key: 'feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308',
    iv: 'cafebabefacedbaddecaf888',
    plain:
      'd9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255',
    cipher:
      '522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662898015ad',
    tag: 'b094dac5d93471bdec1a502270e3cc6c',
  },
];

/** Without a protected header and AAD, the additional data of the JWE is empty (RFC 7516 section 5.1). */
const bare = (p: { iv: string; cipher: string; tag: string }) => ({
  unprotected: { alg: 'dir', enc: 'A256GCM' },
  iv: hex(p.iv).toString('base64url'),
  ciphertext: hex(p.cipher).toString('base64url'),
  tag: hex(p.tag).toString('base64url'),
});

describe.each(gcmCases)('GCM specification, test case $name', vector => {
  const key = new Uint8Array(hex(vector.key));

  it('opens', async () => {
    const plaintext = await decryptContent(bare(vector), key, 'dir');
    expect(Buffer.from(plaintext).toString('hex')).toBe(vector.plain);
  });

  it.each(['key', 'iv', 'cipher', 'tag'] as const)('does not open with another %s', async part => {
    const altered = { ...vector, [part]: `${vector[part].startsWith('0') ? '1' : '0'}${vector[part].slice(1)}` };
    if (vector[part] === '') altered[part] = '00';
    const call = decryptContent(bare(altered), new Uint8Array(hex(altered.key)), 'dir');
    await expect(call).rejects.toMatchObject({ code: 'not_authentic' });
  });

  it.each([0, 4, 8, 12, 15, 17, 32])('does not open with a tag of %i bytes', async length => {
    const tag = vector.tag.repeat(2).slice(0, length * 2);
    await expect(decryptContent(bare({ ...vector, tag }), key, 'dir')).rejects.toMatchObject({ code: 'not_authentic' });
  });

  it.each([0, 1, 8, 11, 13, 16])('does not open with an IV of %i bytes', async length => {
    const iv = vector.iv.repeat(2).slice(0, length * 2);
    await expect(decryptContent(bare({ ...vector, iv }), key, 'dir')).rejects.toMatchObject({ code: 'not_authentic' });
  });
});

/** RFC 7520 section 5.7: a content key wrapped by A256GCMKW. Its content is A128CBC-HS256, which the vault refuses. */
const wrap = {
  key: Buffer.from('qC57l_uxcm7Nm3K-ct4GFjx8tM1U8CZ0NLBvdQstiS8', 'base64url'),
  contentKey: Buffer.from('UWxARpat23nL9ReIj4WG3D1ee9I4r-Mv5QLuFXdy_rE', 'base64url'),
  encryptedKey: 'lJf3HbOApxMEBkCMOoTnnABxs_CvTWUmZQ2ElLvYNok',
  header: { iv: 'KkYT0GX_2jHlfqN_', tag: 'kfPduVQ3T3H6vnewt--ksw' },
};

/** Seals our content under the RFC's content key, so it opens exactly if unwrapping yields that key. */
describe('RFC 7520 section 5.7, the key wrap', () => {
  async function sealed(p: Partial<typeof wrap.header & { encryptedKey: string }> = {}) {
    const { encryptedKey = wrap.encryptedKey, ...header } = { ...wrap.header, ...p };
    const jwe = await new FlattenedEncrypt(Buffer.from('the content'))
      .setUnprotectedHeader({ alg: 'dir', enc: 'A256GCM' })
      .encrypt(wrap.contentKey);
    return { ...jwe, header: { alg: 'A256GCMKW', enc: 'A256GCM', ...header }, encrypted_key: encryptedKey };
  }

  it('yields the content key of the RFC', async () => {
    const plaintext = await decryptContent(await sealed(), wrap.key, 'A256GCMKW');
    expect(Buffer.from(plaintext).toString()).toBe('the content');
  });

  it.each([
    ['encrypted key', { encryptedKey: `m${wrap.encryptedKey.slice(1)}` }],
    ['empty encrypted key', { encryptedKey: '' }],
    ['IV', { iv: `L${wrap.header.iv.slice(1)}` }],
    ['tag', { tag: `l${wrap.header.tag.slice(1)}` }],
    ['cut tag', { tag: wrap.header.tag.slice(0, 16) }],
  ])('refuses another %s', async (_, change) => {
    const call = decryptContent(await sealed(change), wrap.key, 'A256GCMKW');
    await expect(call).rejects.toMatchObject({ code: 'not_authentic' });
  });

  it('refuses an algorithm that the caller does not expect', async () => {
    await expect(decryptContent(await sealed(), wrap.key, 'dir')).rejects.toMatchObject({ code: 'not_authentic' });
  });
});
