/** A version 2 ICC profile of sRGB, which PDF/A requires: primaries adapted to D50, and a gamma of 2.2. */
export function srgbProfile(): Uint8Array {
  const text = (value: string): Buffer => {
    const body = Buffer.alloc(12 + value.length + 1 + 78);
    body.write('desc', 0, 'latin1');
    body.writeUInt32BE(value.length + 1, 8);
    body.write(value, 12, 'latin1');
    return body;
  };
  const copyright = Buffer.concat([
    Buffer.from('text\0\0\0\0', 'latin1'),
    Buffer.from('No copyright, use freely\0', 'latin1'),
  ]);
  const xyz = (x: number, y: number, z: number): Buffer => {
    const body = Buffer.alloc(20);
    body.write('XYZ ', 0, 'latin1');
    [x, y, z].forEach((value, i) => body.writeInt32BE(Math.round(value * 65536), 8 + 4 * i));
    return body;
  };
  const curve = Buffer.alloc(16);
  curve.write('curv', 0, 'latin1');
  curve.writeUInt32BE(1, 8);
  curve.writeUInt16BE(Math.round(2.2 * 256), 12);

  const tags: (readonly [string, Buffer])[] = [
    ['desc', text('sRGB')],
    ['cprt', copyright],
    ['wtpt', xyz(0.9642, 1, 0.8249)],
    ['rXYZ', xyz(0.43607, 0.22249, 0.01392)],
    ['gXYZ', xyz(0.38515, 0.71687, 0.09708)],
    ['bXYZ', xyz(0.14307, 0.06061, 0.7141)],
    ['rTRC', curve],
    ['gTRC', curve],
    ['bTRC', curve],
  ];
  const header = Buffer.alloc(128);
  header.writeUInt32BE(0x02100000, 8);
  header.write('mntrRGB XYZ ', 12, 'latin1');
  // A profile must have a date, so this profile has the year of the sRGB standard.
  [1999, 1, 1, 0, 0, 0].forEach((part, i) => header.writeUInt16BE(part, 24 + 2 * i));
  header.write('acsp', 36, 'latin1');
  [0.9642, 1, 0.8249].forEach((value, i) => header.writeInt32BE(Math.round(value * 65536), 68 + 4 * i));

  const table = Buffer.alloc(4 + 12 * tags.length);
  table.writeUInt32BE(tags.length, 0);
  const bodies: Buffer[] = [];
  let offset = header.length + table.length;
  tags.forEach(([tag, body], i) => {
    table.write(tag, 4 + 12 * i, 'latin1');
    table.writeUInt32BE(offset, 8 + 12 * i);
    table.writeUInt32BE(body.length, 12 + 12 * i);
    const padded = Buffer.concat([body, Buffer.alloc((4 - (body.length % 4)) % 4)]);
    bodies.push(padded);
    offset += padded.length;
  });
  const profile = Buffer.concat([header, table, ...bodies]);
  profile.writeUInt32BE(profile.length, 0);
  return profile;
}
