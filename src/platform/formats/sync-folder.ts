import { open } from 'node:fs/promises';

/** After a power failure, a new or renamed file is lost unless its folder was written to the disk. */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const folder = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    // The service may write to the parent folder without permission to read it.
    if (error.code !== 'EACCES' && error.code !== 'EPERM') throw error;
    return null;
  });
  if (folder === null) return;
  try {
    await folder.sync();
  } catch (error) {
    // Some network file systems cannot sync a folder.
    if (!['EINVAL', 'ENOTSUP', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  } finally {
    await folder.close();
  }
}
