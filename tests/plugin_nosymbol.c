/* A shared object that is not a plug-in. */
int nothing_to_see(void);
int nothing_to_see(void)
{
    return 0;
}
