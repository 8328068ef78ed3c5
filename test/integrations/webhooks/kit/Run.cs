using System;
using System.Text;

/// <summary>Reads lines of secret, header and body in base64 and the time, and prints a verdict for each.</summary>
public static class Run
{
    public static void Main()
    {
        for (var line = Console.ReadLine(); line != null; line = Console.ReadLine())
        {
            var fields = line.Split('\t');
            var secret = Encoding.UTF8.GetString(Convert.FromBase64String(fields[0]));
            var header = Encoding.UTF8.GetString(Convert.FromBase64String(fields[1]));
            Console.WriteLine(WebhookVerifier.Verify(secret, header, Convert.FromBase64String(fields[2]), long.Parse(fields[3])));
        }
    }
}
