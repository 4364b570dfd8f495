export const hex = (text: string): Buffer<ArrayBuffer> => Buffer.from(text, 'hex');
