using System;
using System.Collections.Generic;
using System.Linq;
using System.Security.Cryptography;
using System.Text;

/// <summary>Verifies webhook deliveries. .NET Core 2.1 or newer, no packages.</summary>
public static class WebhookVerifier
{
    /// <summary>
    /// Judges one delivery; accept it only if the result is "valid". secret is the whole whsec_… string, header the value of
    /// X-Svc-Signature-256, body the raw bytes as they arrived, now seconds since 1970.
    /// </summary>
    public static string Verify(string secret, string header, byte[] body, long now, long toleranceSeconds = 300)
    {
        var times = new List<string>();
        var signatures = new List<string>();
        foreach (var part in header.Split(','))
        {
            var equals = part.IndexOf('=');
            if (equals < 1) return "malformed_header";
            var name = part.Substring(0, equals);
            if (name == "t") times.Add(part.Substring(equals + 1));
            else if (name == "v1") signatures.Add(part.Substring(equals + 1));
        }
        if (times.Count != 1 || signatures.Count == 0) return "malformed_header";
        var t = times[0];
        if (t.Length < 1 || t.Length > 12 || t.Any(digit => digit < '0' || digit > '9')) return "malformed_header";

        byte[] mac;
        using (var hmac = new HMACSHA256(Encoding.UTF8.GetBytes(secret)))
        {
            mac = hmac.ComputeHash(Encoding.ASCII.GetBytes(t + ".").Concat(body).ToArray());
        }
        var expected = Encoding.ASCII.GetBytes(string.Concat(mac.Select(value => value.ToString("x2"))));
        var genuine = false;
        // While a secret is being rotated there are two signatures; one that matches is enough.
        foreach (var given in signatures)
        {
            genuine |= CryptographicOperations.FixedTimeEquals(expected, Encoding.UTF8.GetBytes(given));
        }
        // Anybody can sign with a secret that was never set.
        if (!genuine || secret.Length == 0) return "no_matching_signature";

        var age = now - long.Parse(t);
        if (age > toleranceSeconds) return "timestamp_too_old";
        if (age < -toleranceSeconds) return "timestamp_in_future";
        return "valid";
    }
}
